/** The limits for requests, by name. A refusal names the limit. */
export const limits = {
  /** Bytes of a request body, unless its operation defines another limit. */
  bodyBytes: 1024 * 1024,
  /** Bodies above this size count towards `bodiesInFlight`. Also the largest body of a public operation. */
  largeBodyBytes: 64 * 1024,
  /** The time a client has to send a large body: this time, plus the time for its bytes at this rate. */
  bodyMs: 10_000,
  bodyBytesPerSecond: 256 * 1024,
  /**
   * Bytes of all large bodies that a process handles at once, and of those of one tenant. Further bodies wait unread.
   */
  bodiesInFlight: 12 * 1024 * 1024,
  bodiesInFlightPerTenant: 2 * 1024 * 1024,
  /** Requests with large bodies of one tenant that wait to be read. */
  bodiesWaitingPerTenant: 256,
  /** Bytes of a request's path and query. */
  urlBytes: 16 * 1024,
  /** Bytes of all request headers. The HTTP parser accepts more, so that the response is a problem document. */
  headerBytes: 64 * 1024,
  parserHeaderBytes: 256 * 1024,
  /** Bytes of an access token. */
  tokenBytes: 8 * 1024,
  /** Characters of an Idempotency-Key. */
  idempotencyKeyCharacters: 255,
  /** How long the response for an Idempotency-Key is stored. */
  idempotencyHours: 24,
  /**
   * How long the key of a waiting request stays claimed when its process dies. It is longer than any operation waits.
   */
  idempotencyClaimSeconds: 120,
  /** The longest lifetime of an access token that can be set. */
  tokenLifetimeSeconds: 86_400,
  /** How long a client may take to send its request. */
  requestMs: 60_000,
  /** Event streams that one principal, and all principals together, can have open in a process. */
  streamsPerPrincipal: 20,
  streams: 1_000,
  /** Concurrent requests in each process that wait for a response of another process of the platform. */
  waiting: 10_000,
  /** Bytes of a streamed response that wait for a slow reader. Above it, the source pauses. */
  streamBytes: 64 * 1024,
  /** How long readers of streams have to read the last data at a shutdown. */
  streamDrainMs: 2_000,
  /** How long a shutdown waits for accepted requests. */
  drainMs: 5_000,
} as const
