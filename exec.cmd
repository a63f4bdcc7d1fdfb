@rem npm runs its scripts by cmd on Windows, which has no exec: this makes "exec node …" run node there.
@%*
