/**
 * The age up to which a check by monitoring or by a scan proves the state of a device. After this time, its reachability and its
 * operating mode are only the last known values.
 */
export const evidenceLimitHours = 24
