/** The management states whose assets the inbox lists. */
export type InboxList = 'unknown' | 'ignored'
