"""The long-running process: passes over all monitors, worker threads, signals and web pages."""
