"""The steps of a task, one file each: a function from a held task to the same task one state on (or None: let go).

Each may be cancelled at any await and repeated from the row alone. What they may raise and what becomes of the task
then is in `bot.steps.drive`.
"""
