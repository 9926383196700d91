#!/bin/sh
# Compress two megabytes of numbers with gzip at level $1 and print the share of bytes that was saved.
set -eu
size=2000000
packed=$(awk 'BEGIN { for (i = 1; i < 400000; i++) print i * i % 9973 }' | head -c "$size" | gzip "-$1" | wc -c)
awk -v size="$size" -v packed="$packed" 'BEGIN { print "saved", 1 - packed / size }'
