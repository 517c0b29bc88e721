#!/bin/bash
# Makes samples/cases/failing-disk: a SCSI disk whose commands time out for some seconds, and a sector of it that cannot be read.
# Run as root in a throw-away virtual machine with fio and sysstat: failing_disk.sh FOLDER
# scsi_debug stands for the disk; timeouts, aborts, retries, resets and their messages are the kernel's own.
set -eu
folder=$1
driver=/sys/bus/pseudo/drivers/scsi_debug
mkdir -p "$folder"
modprobe scsi_debug dev_size_mb=200 ndelay=4000000 statistics=1
sleep 2
disk=$(basename "$(ls -d $driver/adapter0/host*/target*/*/block/*)")
echo 2 > "/sys/block/$disk/device/timeout"
lsblk -o NAME,KNAME,ROTA,SIZE,TYPE > "$folder/lsblk.txt"
LC_ALL=C iostat -x -t 1 > "$folder/iostat.txt" &
iostat=$!
sleep 3
fio --name=load --filename="/dev/$disk" --rw=randread --bs=16k --ioengine=psync --numjobs=4 --rate_iops=20 --direct=1 \
  --time_based --runtime=45 --continue_on_error=all --ignore_error=EIO --output=/dev/null &
load=$!
sleep 18
echo 4 > $driver/opts        # commands are ignored
echo -1 > $driver/every_nth  # all of them
sleep 10
echo 0 > $driver/every_nth
echo 2 > $driver/opts        # sectors from 4660 on cannot be read
dd if="/dev/$disk" of=/dev/null bs=4k skip=582 count=1 iflag=direct || true
echo 0 > $driver/opts
wait $load
kill -INT $iostat
dmesg -T | grep -E "sd |$disk" > "$folder/kernel-log.txt"
