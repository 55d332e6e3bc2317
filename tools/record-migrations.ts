import { writeFileSync } from 'node:fs'
import { readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { migrationSources } from '@millwright/cloud/prepare.ts'

/**
 * Records the checksums of the migrations, so that a change of a released migration is detected. Run this program after
 * adding a migration.
 */
const migrations = await readMigrations(migrationSources)
const recorded = Object.fromEntries(migrations.map(({ module, name, checksum }) => [`${module}/${name}`, checksum]))
writeFileSync(new URL('../cloud/migrations.lock.json', import.meta.url), `${JSON.stringify(recorded, undefined, 2)}\n`)
