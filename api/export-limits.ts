/** The limits of the export service. */
export const exportLimits = {
  /** The time for which an export is stored after its end. */
  retentionHours: 24,
  /** The maximum number of exports of a user, and of a tenant, that wait or run. */
  unfinishedOfUser: 5,
  unfinished: 20,
  /** The maximum number of exports that each process runs at the same time, in total and for one tenant. */
  concurrent: 3,
  concurrentOfTenant: 2,
  /** The maximum size of one export, as the client reads it. */
  fileBytes: 8 * 1024 * 1024 * 1024,
  /** The maximum size of all stored exports of a tenant, as they are stored. */
  storedBytes: 4 * 1024 * 1024 * 1024,
  columns: 256,
  /** The time in which the client must read the content completely. Then the connection is closed. */
  contentSeconds: 3_600,
} as const
