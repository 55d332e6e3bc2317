import { type Address, openConnection, send, sessionSettings } from '@millwright/cloud/platform/database/connection.ts'

/** `RecordedStatement` is one SQL statement. Statements of one transaction have the same `by`. */
export type RecordedStatement = { text: string; values: readonly unknown[]; by?: string }

type Client = Awaited<ReturnType<typeof openConnection>>['client']

type Options = { address: Address; tenantId: string; connections: number }

/**
 * Opens connections that send prepared statements without the platform. Their number is the same as in the platform.
 */
export async function openStatementSender({ address, tenantId, connections }: Options) {
  const idle = await Promise.all(
    Array.from({ length: connections }, async () => {
      const { client } = await openConnection(address, { settings: sessionSettings('set') })
      await client.query(`set app.tenant = '${tenantId}'`)
      return client
    }),
  )
  const all = [...idle]
  const names = new Map<string, string>()
  const waiting: ((client: Client) => void)[] = []
  return {
    /** Sends statements one after the other on one connection, as one request of the platform does. */
    async send(statements: readonly RecordedStatement[]): Promise<unknown[][]> {
      const client = idle.pop() ?? (await new Promise<Client>((resolve) => waiting.push(resolve)))
      const results: unknown[][] = []
      for (const { text, values } of statements) {
        const name = names.get(text) ?? `raw${names.size}`
        names.set(text, name)
        results.push((await send(client, { name, text, values: [...values] })).rows)
      }
      const next = waiting.shift()
      if (next === undefined) idle.push(client)
      else next(client)
      return results
    },
    close: () => Promise.all(all.map((client) => client.end())),
  }
}
