"""Many hosts' archives in one run: a job per host-day, a Parquet data set, a report per host and day."""
