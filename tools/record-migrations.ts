import { writeFileSync } from 'node:fs'
import { readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { migrationSources } from '@millwright/cloud/prepare.ts'

/** Writes down what the migrations are, so that a landed one cannot change unseen. Run it after adding one. */
const migrations = await readMigrations(migrationSources)
const recorded = Object.fromEntries(migrations.map(({ module, name, checksum }) => [`${module}/${name}`, checksum]))
writeFileSync(new URL('../cloud/migrations.lock.json', import.meta.url), `${JSON.stringify(recorded, undefined, 2)}\n`)
