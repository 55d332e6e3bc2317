/** The limits for requests and responses. */
export const limits = {
  /** Maximum bytes of a request body, unless its operation defines another limit. */
  bodyBytes: 1024 * 1024,
  /** Maximum number of nested arrays and objects in a JSON body. */
  bodyLevels: 128,
  /** Bodies above this size count towards `bodiesInFlight`. It is also the maximum body size of a public operation. */
  largeBodyBytes: 64 * 1024,
  /** A client must send a large body within `bodyMs`, plus the time that its bytes take at `bodyBytesPerSecond`. */
  bodyMs: 10_000,
  bodyBytesPerSecond: 256 * 1024,
  /**
   * Maximum bytes of the large bodies that a process handles at once, for all tenants together.
   * `bodiesInFlightPerTenant` is the maximum for one tenant. Further bodies wait and are not read.
   */
  bodiesInFlight: 12 * 1024 * 1024,
  bodiesInFlightPerTenant: 2 * 1024 * 1024,
  /**
   * Maximum number of uploads of files that a process receives at once, for all tenants together and for one tenant.
   * Further uploads wait and are not read. The content of a file is not kept in memory.
   */
  uploads: 12,
  uploadsPerTenant: 2,
  /** Maximum number of requests of one tenant with large bodies that wait to be read. */
  bodiesWaitingPerTenant: 256,
  /** Maximum bytes of a request's path and query. */
  urlBytes: 16 * 1024,
  /**
   * Maximum bytes of all request headers. The limit of the HTTP parser is higher, so that the platform can respond with
   * a problem document.
   */
  headerBytes: 64 * 1024,
  parserHeaderBytes: 256 * 1024,
  /** Maximum bytes of an access token. */
  tokenBytes: 8 * 1024,
  /** Maximum characters of an Idempotency-Key. */
  idempotencyKeyCharacters: 255,
  /** How long the response for an Idempotency-Key is stored. */
  idempotencyHours: 24,
  /**
   * How long an Idempotency-Key stays claimed after the process of its request dies. The process renews the claim while
   * the request runs.
   */
  idempotencyClaimMs: 9_000,
  idempotencyRenewMs: 2_000,
  /** The longest lifetime that an access token can have. */
  tokenLifetimeSeconds: 86_400,
  /** How long a client may take to send its request. The largest file takes this time at `bodyBytesPerSecond`. */
  requestMs: 150_000,
  /** Listeners of one event of a connection. A TLS connection that is passed to another one has more than ten. */
  socketListeners: 20,
  /** How long the TLS handshake of a connection may take. */
  handshakeMs: 10_000,
  /** How long a connection without a request stays open. */
  keepAliveMs: 72_000,
  /** Maximum number of open event streams in a process, for one principal and for all principals together. */
  streamsPerPrincipal: 20,
  streams: 1_000,
  /** Maximum number of open WebSockets in a process, for one principal and for all principals together. */
  socketsPerPrincipal: 2_000,
  sockets: 10_000,
  /** Maximum bytes of one message of a WebSocket. */
  socketMessageBytes: 1024 * 1024,
  /** Maximum bytes that wait to be sent on a WebSocket. A WebSocket with more waiting bytes is closed. */
  socketBufferBytes: 16 * 1024 * 1024,
  /** How often an open WebSocket is checked. A client that sends nothing between two checks is disconnected. */
  socketPingMs: 15_000,
  /** How often a WebSocket that the server does not read is checked. The second check after a lost connection fails. */
  pausedSocketPingMs: 2_000,
  /** How long a client may take to answer the close of its WebSocket. */
  socketCloseMs: 1_000,
  /** Maximum number of concurrent requests in a process that wait for a response of another process of the platform. */
  waiting: 10_000,
  /** Maximum bytes of a streamed response that wait for a slow reader. Above this limit, the source pauses. */
  streamBytes: 64 * 1024,
  /** A client that reads no byte of a download in this time is disconnected. */
  downloadIdleMs: 60_000,
  /** Maximum number of downloads without a sign-in in a process, for all addresses together and for one address. */
  publicDownloads: 64,
  publicDownloadsPerAddress: 8,
  /** How long a shutdown waits for readers of streams to read the last data. */
  streamDrainMs: 2_000,
  /** How long a shutdown waits for the first request of a connection. */
  firstRequestMs: 500,
  /** How long a shutdown waits for accepted requests. */
  drainMs: 5_000,
} as const
