/** `InboxList` is a management state whose assets the inbox lists. */
export type InboxList = 'unknown' | 'ignored'
