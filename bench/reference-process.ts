import type { Address } from '@millwright/cloud/platform/database/connection.ts'
import { serveStatements } from './bare-server.ts'
import { replay, transactionsOf } from './inventory-replay.ts'
import { cpuMicros } from './measuring.ts'
import { openRaw, type Sent } from './raw.ts'
import { handleCommands } from './worker-process.ts'

/** The reference that the platform is compared with, in a separate process, so that its memory and CPU time are not counted. */

/** The database of the platform, the tenant, and how many connections the platform has. */
export type Places = { application: Address; owner: Address; tenantId: string; connections: number }

export type ReferenceCommand =
  | { kind: 'serve statements'; places: Places; statements: Sent[] }
  | { kind: 'replay'; places: Places; statements: Sent[] }
  | { kind: 'cpu' }

let bare: ReturnType<typeof serveStatements> | undefined

handleCommands<ReferenceCommand>(async (command) => {
  switch (command.kind) {
    case 'serve statements': {
      bare ??= openBare(command.places)
      const { url, answerWith } = await bare
      answerWith(command.statements)
      return url
    }
    case 'replay':
      return replay({ ...command.places, transactions: transactionsOf(command.statements) })
    case 'cpu':
      return cpuMicros()
  }
})
process.send?.({ ready: undefined })

async function openBare({ application, tenantId, connections }: Places) {
  return serveStatements(await openRaw({ address: application, tenantId, connections }))
}
