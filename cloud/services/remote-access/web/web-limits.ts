export const webLimits = {
  /** The maximum number of concurrent requests and WebSockets of one session, and of all sessions of a process. */
  requestsPerSession: 128,
  requests: 4_000,
  /** The maximum number of connections to a device for requests. WebSockets have their own connections. */
  connections: 24,
  /** The maximum bytes of the headers of a response. */
  headerBytes: 64 * 1024,
  /** How long a device may take to answer a request. */
  answerMs: 300_000,
  /** How long the TLS handshake and the handshake of a WebSocket may last. */
  handshakeMs: 15_000,
  /** How long an unused connection to a device stays open. */
  keepAliveMs: 10_000,
  /** How long the state of a session is cached. */
  sessionCacheMs: 1_000,
  /** How long a session without requests stays in memory. */
  idleMs: 60_000,
  /** How long an ended session stays in memory, so that its page shows why it ended. */
  endedMs: 600_000,
  /** The maximum number of cookies and tickets that a process checks in the database at the same time. */
  entryChecks: 32,
  /** The maximum number of cookies of a session that are cached. */
  cachedEntries: 32,
  /** The maximum length of a path in the request log. */
  loggedPath: 2_048,
} as const
