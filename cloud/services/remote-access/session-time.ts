/**
 * The interval at which the bytes of streams are stored. A session counts as idle only after this time in addition to the
 * time of its policy.
 */
export const trafficMs = 10_000
