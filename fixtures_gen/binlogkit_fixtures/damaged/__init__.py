"""Damaged logs, made of golden ones, with what a reader must make of each.

``pieces``: a log cut into its events; ``recipe``: what a damaged log is; ``cuts``, ``flips``,
``splices``, ``lengths``, ``forgeries``: the recipes; ``made``: the logs and their records.
"""
