import { authorization } from '@millwright/api/authorization.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { bulkLoad } from '@millwright/cloud/services/inventory/writes/bulk-load.ts'
import { type PlantSize, plantAssets, plantProperty, plantSource } from '@millwright/links/plant/generator.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { recordForTenants, withDatabaseOwner } from '../server/database-owner.ts'
import { type ConnectionOptions, connect, withConnectionOptions } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addFirmwareCommand } from './firmware-file.ts'
import { sendPlant } from './plant-sender.ts'

type Options = PlantSize & { tenant: string; fast?: boolean } & ConnectionOptions

export function addCommands(plant: Command, terminal: Terminal): void {
  addFirmwareCommand(plant, terminal)
  const generate = plant
    .command('generate')
    .description('fill a tenant with realistic assets; the same seed creates the same plant')
    .option('--assets <count>', 'number of assets', wholeNumber(1, 100_000_000), 1_000)
    .option('--seed <number>', 'seed of the generator', wholeNumber(0, 0xffff_ffff), 1)
    .option('--relations <count>', 'relations per asset, 5 at most', wholeNumber(0, 5), 2)
    .option('--tenant <name>', 'tenant to fill, with --fast', 'default')
    .option('--fast', 'write to the database directly, without events and without audit entries for each asset')
  withConnectionOptions(generate)
    .addHelpText(
      'after',
      `
Examples:
  millwright plant generate --assets 5000                        on the platform that npm start runs here
  millwright plant generate --assets 1000000 --relations 5 --fast
  millwright plant generate --profile trial                      on the platform of a profile`,
    )
    .action(async ({ fast, profile, url, ...size }: Options) => {
      if (fast) return generateInDatabase(terminal, size)
      const session = await connect(terminal, {
        ...(profile === undefined ? {} : { profile }),
        ...(url === undefined ? {} : { url }),
      })
      await send(terminal, session, size)
    })
}

async function generateInDatabase(
  terminal: Terminal,
  { tenant: name, ...size }: PlantSize & { tenant: string },
): Promise<void> {
  await withDatabaseOwner(terminal.environment, async (owner, parts) => {
    const tenant = await findTenant(owner, name)
    if (tenant === undefined) throw new StartError(`Tenant "${name}" not found. Try: millwright tenants list`)
    const progress = progressOf(terminal, size.assets)
    await bulkLoad(plantAssets(size), {
      owner,
      tenantId: tenant.id,
      property: plantProperty,
      source: plantSource,
      onProgress: progress.show,
    }).catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'already_exists') throw error
      throw new StartError(`The plant with seed ${size.seed} already exists. Use another seed: --seed <number>`)
    })
    await owner.query('analyze')
    progress.end()
    const { assets, seed, relations } = size
    await recordForTenants(parts, [tenant.id], {
      action: 'inventory.growPlant',
      target: `tenant/${name}`,
      detail: { assets, seed, relations },
    })
  })
}

async function send(terminal: Terminal, session: Session, size: PlantSize): Promise<void> {
  const progress = progressOf(terminal, size.assets)
  await sendPlant(size, {
    inventory: session.api(inventory),
    authorization: session.api(authorization),
    onProgress: progress.show,
  })
  progress.end()
}

/** Shows progress on one line of a terminal. Without a terminal, only the last line is printed. */
function progressOf(terminal: Terminal, assets: number) {
  const startedAt = performance.now()
  const line = (done: number) => {
    const rate = Math.round(done / ((performance.now() - startedAt) / 1000))
    return `${done} of ${assets} assets, ${rate} per second`
  }
  return {
    show: (done: number) => terminal.progress(line(done)),
    end: () => terminal.note(line(assets)),
  }
}
