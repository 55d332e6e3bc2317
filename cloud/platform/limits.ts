/** Every limit at the door, by name. An answer that refuses says which one it was. */
export const limits = {
  /** Bytes of a request body, unless its operation says otherwise. */
  bodyBytes: 1024 * 1024,
  /** Bytes of a request's path and query. */
  urlBytes: 16 * 1024,
  /** Bytes of all request headers, as far as we answer for them; the parser takes more so that the answer is ours. */
  headerBytes: 64 * 1024,
  parserHeaderBytes: 256 * 1024,
  /** Bytes of an access token. */
  tokenBytes: 8 * 1024,
  /** Characters of an Idempotency-Key. */
  idempotencyKeyCharacters: 255,
  /** How long an answer to an Idempotency-Key is kept. */
  idempotencyHours: 24,
  /** How long a client may take to send its request. */
  requestMs: 60_000,
  /** How long a shutdown waits for requests that were accepted. */
  drainMs: 8_000,
} as const
