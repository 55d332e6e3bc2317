import type { Address } from '@millwright/cloud/platform/database/connection.ts'
import { serveStatements } from './bare-server.ts'
import { replay, transactionsOf } from './inventory-replay.ts'
import { cpuMicros } from './measurement.ts'
import { openStatementSender, type RecordedStatement } from './statement-sender.ts'
import { handleCommands } from './worker-process.ts'

/**
 * This process runs the reference server that the platform is compared with. It is a separate process, so that its
 * memory and CPU time do not count as those of the platform.
 */

/**
 * `DatabaseTarget` contains the database addresses and the tenant of the platform, and the number of its connections.
 */
export type DatabaseTarget = { application: Address; owner: Address; tenantId: string; connections: number }

export type ReferenceCommand =
  | { kind: 'serve statements'; target: DatabaseTarget; statements: RecordedStatement[] }
  | { kind: 'replay'; target: DatabaseTarget; statements: RecordedStatement[] }
  | { kind: 'cpu' }

let bare: ReturnType<typeof serveStatements> | undefined

handleCommands<ReferenceCommand>(async (command) => {
  switch (command.kind) {
    case 'serve statements': {
      bare ??= openBare(command.target)
      const { url, answerWith } = await bare
      answerWith(command.statements)
      return url
    }
    case 'replay':
      return replay({ ...command.target, transactions: transactionsOf(command.statements) })
    case 'cpu':
      return cpuMicros()
  }
})
process.send?.({ ready: undefined })

async function openBare({ application, tenantId, connections }: DatabaseTarget) {
  return serveStatements(await openStatementSender({ address: application, tenantId, connections }))
}
