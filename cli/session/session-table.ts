import type { Columns } from '../output/table.ts'

/** The columns of a list of sign-in sessions. */
export const sessionColumns: Columns = {
  id: 'id',
  program: 'client',
  device: 'device',
  address: 'address',
  'last use': 'lastUseTimestamp',
  note: ({ isCurrent, isUnfamiliar }) => [
    ...(isCurrent === true ? ['this session'] : []),
    ...(isUnfamiliar === true ? ['new device'] : []),
  ],
  'signed in': 'createdTimestamp',
  expires: 'expiresTimestamp',
  methods: 'methods',
  provider: 'provider',
}
