"""Charts: functions from records to Altair charts, and their drawing as SVG and PNG without a browser."""
