const SECOND = 1000;

/** Until the server has said how often it wants a heartbeat. */
export const INITIAL_PATIENCE_MS = 60 * SECOND;

/**
 * How long any call is repeated before the runner calls its server lost and ends the run: ten heartbeats, at least a
 * minute. That is past the three heartbeats after which the server gives the lease away, so by then nothing that this
 * runner could still report would be accepted; until then a server that restarts finds its runs going on.
 */
export function patienceMs(heartbeatSeconds: number): number {
  return Math.max(10 * heartbeatSeconds * SECOND, INITIAL_PATIENCE_MS);
}
