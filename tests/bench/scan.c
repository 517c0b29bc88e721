/* Reads iostat rows: every number of every line that begins with "sd", summed column by column and, with
   a second argument, kept as columns of doubles, which is what a table is.
   The least a scalar program can do: one pass over the bytes, no check of the shape. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MOST_COLUMNS 64
#define LEAST_ROW 16

int main(int count, char **arguments)
{
    struct stat about;
    double sums[MOST_COLUMNS] = {0}, *kept = 0;
    int columns = 0, file = count > 1 ? open(arguments[1], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &about) != 0)
        return 1;
    const char *at = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (at == MAP_FAILED)
        return 1;
    size_t row = 0, most_rows = about.st_size / LEAST_ROW + 1;
    if (count > 2) {
        /* addresses alone: a page is there when it is written to */
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        kept = mmap(0, MOST_COLUMNS * most_rows * sizeof *kept, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (kept == MAP_FAILED)
            return 1;
    }
    const char *end = at + about.st_size;
    while (at < end) {
        if (end - at > LEAST_ROW && at[0] == 's' && at[1] == 'd') {
            int column = 0;
            while (at < end && *at != ' ' && *at != '\n')
                at++;
            while (at < end && *at != '\n') {
                while (at < end && *at == ' ')
                    at++;
                long whole = 0, part = 0, scale = 1;
                const char *begin = at;
                for (; at < end && *at >= '0' && *at <= '9'; at++)
                    whole = whole * 10 + (*at - '0');
                if (at < end && *at == '.')
                    for (at++; at < end && *at >= '0' && *at <= '9'; at++, scale *= 10)
                        part = part * 10 + (*at - '0');
                if (at == begin)
                    break;
                if (column < MOST_COLUMNS) {
                    double value = (double)whole + (double)part / (double)scale;
                    if (kept)
                        kept[column * most_rows + row] = value;
                    sums[column++] += value;
                }
            }
            if (column > columns)
                columns = column;
            row++;
        }
        while (at < end && *at != '\n')
            at++;
        at++;
    }
    for (int column = 0; column < columns; column++)
        printf("%.2f\n", sums[column]);
    return 0;
}
