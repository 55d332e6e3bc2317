import type { Address } from '@millwright/cloud/platform/database/connection.ts'
import { answerQuestions } from './asked-process.ts'
import { serveStatements } from './bare-server.ts'
import { replay, transactionsOf } from './inventory-replay.ts'
import { cpuMicros } from './measuring.ts'
import { openRaw, type Sent } from './raw.ts'

/** What the platform is measured beside, in a process of its own: what that holds and works is not the platform's. */

/** The database of the platform, the tenant, and how many connections the platform has. */
export type Places = { application: Address; owner: Address; tenantId: string; connections: number }

export type BesideQuestion =
  | { kind: 'serve statements'; places: Places; statements: Sent[] }
  | { kind: 'replay'; places: Places; statements: Sent[] }
  | { kind: 'cpu' }

let bare: ReturnType<typeof serveStatements> | undefined

answerQuestions<BesideQuestion>(async (question) => {
  switch (question.kind) {
    case 'serve statements': {
      bare ??= openBare(question.places)
      const { url, answerWith } = await bare
      answerWith(question.statements)
      return url
    }
    case 'replay':
      return replay({ ...question.places, transactions: transactionsOf(question.statements) })
    case 'cpu':
      return cpuMicros()
  }
})
process.send?.({ ready: undefined })

async function openBare({ application, tenantId, connections }: Places) {
  return serveStatements(await openRaw({ address: application, tenantId, connections }))
}
