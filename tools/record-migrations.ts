import { readFileSync, writeFileSync } from 'node:fs'
import { readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { migrationSources } from '@millwright/cloud/prepare.ts'
import { isReleased, readReleases } from './releases.ts'

/**
 * Records the checksums of the migrations, so that a change of a released migration is detected. Run this program after
 * adding a migration.
 */
const migrations = await readMigrations(migrationSources)
const file = new URL('../cloud/migrations.lock.json', import.meta.url)
const before: Record<string, string> = JSON.parse(readFileSync(file, 'utf8'))
const releases = readReleases()
const changed = migrations.find(
  (migration) =>
    isReleased(migration, releases) && before[`${migration.module}/${migration.name}`] !== migration.checksum,
)
if (changed !== undefined) {
  console.error(`The migration ${changed.module}/${changed.name} is released: restore it, and write a new migration.`)
  process.exit(1)
}
const recorded = Object.fromEntries(migrations.map(({ module, name, checksum }) => [`${module}/${name}`, checksum]))
writeFileSync(file, `${JSON.stringify(recorded, undefined, 2)}\n`)
