"""Reports and tables without the names of hosts, devices, volumes, people, files and addresses."""
