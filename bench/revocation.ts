import { authorization } from '@millwright/api/authorization.ts'
import { client, overHttp } from '@millwright/api/client.ts'
import { identity } from '@millwright/api/identity.ts'
import { attachPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { embeddedOwner } from '@millwright/cloud/start.ts'
import { median } from './measurement.ts'
import { bearer, type PlatformProcess, startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Report } from './report.ts'

const rounds = 20
const goalMs = 1_000

/** Measures the time until one process refuses a permission that another process revoked. */
export function revocation(): Promise<Report> {
  return withHome(async (home) => {
    const one = await startPlatform({ home })
    try {
      const other = await startPlatform({ home, environment: secondProcessEnvironment(one, home) })
      try {
        return reportOf(await revokeOften(one, other))
      } finally {
        await other.stop()
      }
    } finally {
      await one.stop()
    }
  })
}

/** Returns the settings of a second process of the same installation. */
function secondProcessEnvironment({ url }: PlatformProcess, home: string): Record<string, string> {
  const postgres = attachPostgres({ home })
  if (postgres === undefined) throw new Error('The database server of the home is not running')
  const { host, port, user, database } = { ...postgres, ...embeddedOwner(postgres) }
  return {
    DATABASE_URL: `postgresql://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    MILLWRIGHT_BASE_URL: url,
  }
}

async function revokeOften(one: PlatformProcess, other: PlatformProcess): Promise<number[]> {
  const token = await tokenFor(one)
  const admin = overHttp({ baseUrl: one.url, token: () => token })
  const access = client(authorization, admin)
  const { data: user } = await client(identity, admin).createServerUser({ body: { data: { name: 'to be revoked' } } })
  const grant = { principal: user.id, role: 'administrator' }
  const held = await access.createGrant({ body: { data: grant } })
  const revoked = await tokenFor({ url: one.url, access: { ...one.access, ...user } })
  const isAllowed = async () => {
    const response = await fetch(`${other.url}${authorization.prefix}/roles`, { headers: bearer(revoked) })
    await response.arrayBuffer()
    return response.ok
  }
  const found: number[] = []
  for (
    let { id } = held.data;
    found.length < rounds;
    id = (await access.createGrant({ body: { data: grant } })).data.id
  ) {
    while (!(await isAllowed()));
    const startedAt = performance.now()
    const done = access.deleteGrant({ params: { id } })
    while (await isAllowed());
    found.push(performance.now() - startedAt)
    await done
  }
  return found
}

function reportOf(found: readonly number[]): Report {
  const slowest = Math.max(...found)
  return {
    title: 'revocation: a grant is deleted in one process, until another process refuses',
    rows: [{ times: found.length, 'median ms': median(found), 'slowest ms': slowest }],
    goals: [
      {
        goal: `everywhere within ${goalMs} ms`,
        found: `${slowest.toFixed(0)} ms`,
        reached: slowest < goalMs,
      },
    ],
  }
}
