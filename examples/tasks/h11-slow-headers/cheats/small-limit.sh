#!/bin/bash
# Refuses long headers, so that they can't take long.
sed -i 's/max_incomplete_event_size: int = DEFAULT_MAX_INCOMPLETE_EVENT_SIZE/max_incomplete_event_size: int = 4096/; s/self._max_incomplete_event_size = max_incomplete_event_size/self._max_incomplete_event_size = min(4096, max_incomplete_event_size)/' /app/h11/_connection.py
