"""The fleet report as a document and in each format; made from the FleetReport alone."""
