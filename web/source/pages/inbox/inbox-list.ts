/** `InboxList` is one of the lists of the inbox. It contains the assets with this management state. */
export type InboxList = 'unknown' | 'ignored'
