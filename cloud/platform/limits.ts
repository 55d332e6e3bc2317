/** Every limit at the door, by name. An answer that refuses says which one it was. */
export const limits = {
  /** Bytes of a request body, unless its operation says otherwise. */
  bodyBytes: 1024 * 1024,
  /** Bodies above this size count towards `bodiesInFlight`. Also the largest body of a public operation. */
  largeBodyBytes: 64 * 1024,
  /** How long the client of a large body may take to send it: this time, and the time of its bytes at this rate. */
  bodyMs: 10_000,
  bodyBytesPerSecond: 256 * 1024,
  /** Bytes of all large bodies that are handled at once in a process, and those of one tenant: more wait unread. */
  bodiesInFlight: 12 * 1024 * 1024,
  bodiesInFlightPerTenant: 2 * 1024 * 1024,
  /** Requests with large bodies of one tenant that wait to be read. */
  bodiesWaitingPerTenant: 256,
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
  /** How long the key of a request that waits stays claimed when its process dies. Longer than any operation waits. */
  idempotencyClaimSeconds: 120,
  /** The longest lifetime of an access token that can be set. */
  tokenLifetimeSeconds: 86_400,
  /** How long a client may take to send its request. */
  requestMs: 60_000,
  /** Event streams that one principal, and all of them together, may have open in a process. */
  streamsPerPrincipal: 20,
  streams: 1_000,
  /** Requests that wait at the same time for an answer of another process of ours, in each process. */
  waiting: 10_000,
  /** Bytes of a streamed answer that wait for a slow reader; more is not asked for. */
  streamBytes: 64 * 1024,
  /** How long readers of streams have, once a shutdown has ended these, to fetch what was sent. */
  streamDrainMs: 2_000,
  /** How long a shutdown waits for requests that were accepted. */
  drainMs: 5_000,
} as const
