"""The front door: the chart, the figures and the sample of README, all taken from committed results."""
