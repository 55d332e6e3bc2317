/** The lists of the inbox: first the queues, then the log of the decisions. */
const inboxLists = ['unknown', 'ignored', 'twins', 'approvals', 'decisions'] as const

export type InboxList = (typeof inboxLists)[number]

type ListOptions = {
  /** The list of the URL. */
  chosen: unknown
  /** The number of requests for remote access that the user can approve. */
  approvals: number
}

/** Returns the lists that the inbox shows. Without requests for remote access, their list is left out unless it is open. */
export function offeredLists({ chosen, approvals }: ListOptions): InboxList[] {
  return inboxLists.filter((list) => list !== 'approvals' || approvals > 0 || chosen === 'approvals')
}
