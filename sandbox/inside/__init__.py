"""Scripts that run in helper containers of ours: store, fetch, extract. Standard library and this folder only.

What they read was written by an agent or by a stranger's repository: it is bounded, and nothing of it is run.
"""
