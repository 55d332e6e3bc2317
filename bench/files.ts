import { mkdir } from 'node:fs/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { measureExports } from './exports.ts'
import { measureImports } from './imports.ts'
import type { BenchOptions } from './options.ts'
import { tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Report } from './report.ts'

const none = { rows: [], goals: [] }

/**
 * Measures exports and imports and their memory, and compares their speed with that of the list of assets in the same run. Example:
 * `npm run bench files -- --assets 1000000 --home <folder>`. The next run reuses the plant.
 */
export function files({ home, ...options }: BenchOptions): Promise<Report> {
  if (home === undefined) return withHome((made) => filesIn(made, options))
  return mkdir(home, { recursive: true }).then(() => filesIn(home, options))
}

async function filesIn(
  home: string,
  { assets, relations, profile, only }: Omit<BenchOptions, 'home'>,
): Promise<Report> {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  await withPlatform({ home }, async (process) => {
    const token = await tokenFor(process)
    const api = client(inventory, overHttp({ baseUrl: process.url, token: () => token }))
    const { meta } = await api.listAssets({ query: { limit: 1 } })
    if (meta.totalElements === 0) await process.request({ kind: 'grow a plant', size: { assets, relations, seed: 1 } })
  })
  return withPlatform({ home, nodeOptions }, async (process) => {
    await process.request({ kind: 'vacuum' })
    const exported = only.startsWith('import') ? none : await measureExports(process, { assets, only })
    const imported = only.startsWith('export') ? none : await measureImports(process, { assets, only })
    return {
      title: `files: exports and imports with ${assets} assets`,
      rows: [...exported.rows, ...imported.rows],
      goals: [...exported.goals, ...imported.goals],
    }
  })
}
