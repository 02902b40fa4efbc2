"""The sweeper of conf/hydra/sweeper/every_job.yaml, where Hydra looks for plugins."""
