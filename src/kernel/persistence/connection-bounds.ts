import type { ClientConfig } from 'pg';

const CONNECT_TIMEOUT_MS = 5_000;
/** How long the word that a statement has ended may be on its way. */
const ANSWER_TIMEOUT_MS = 5_000;
const KEEPALIVE_AFTER_MS = 10_000;

/**
 * The options of a connection to PostgreSQL that bound every wait for it: for the connection, for each statement, and for a network
 * that swallows what is sent and tells nobody, which TCP alone notices after a quarter of an hour.
 *
 * The server ends a statement that takes too long. When not even that is heard the connection is given up with the statement, and
 * whoever waits gets an error that {@link isDatabaseUnavailable} knows. pg does so for connections that may pipeline; others it would go on
 * using, each statement behind the answer that does not come.
 *
 * @param statementTimeoutMs 0 = a statement may take as long as it needs
 * @param maxPipelined how many statements may be on their way at a time: the last one waits for all others
 */
export const connectionBounds = (statementTimeoutMs: number, maxPipelined = 1): ClientConfig => ({
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
  pipeline: true,
  ...(statementTimeoutMs > 0 && {
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs * maxPipelined + ANSWER_TIMEOUT_MS,
  }),
});
