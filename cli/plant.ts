import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { authorization } from '@millwright/api/authorization.ts'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory } from '@millwright/api/inventory.ts'
import type { Access } from '@millwright/cloud/first-run.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'
import { findTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import type { PlantSize } from '@millwright/cloud/services/inventory/plant.ts'
import { growPlant } from '@millwright/cloud/services/inventory/planting.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { asOwner, recordForTenants } from './owner.ts'
import { sendPlant } from './plant-sender.ts'
import { tokens } from './token.ts'

type Options = PlantSize & {
  tenant: string
  fast?: boolean
  url?: string
  clientId?: string
  secretFile?: string
}

export function addCommands(plant: Command): void {
  plant
    .command('generate')
    .description('fill a tenant with believable assets; the same seed makes the same plant')
    .option('--assets <count>', 'how many', wholeNumber(1, 100_000_000), 1_000)
    .option('--seed <number>', 'which plant', wholeNumber(0, 0xffff_ffff), 1)
    .option('--relations <count>', 'relations of each asset, 5 at most', wholeNumber(0, 5), 2)
    .option('--tenant <name>', 'whose inventory, with --fast', 'default')
    .option('--fast', 'write into the database instead of sending to a running platform: no events, no audit of each')
    .option('--url <url>', 'the platform; without it, the one of first-run.json')
    .option('--client-id <id>', 'who sends; without it, the client of first-run.json')
    .option('--secret-file <path>', 'file with the secret of --client-id; - reads it from standard input')
    .addHelpText(
      'after',
      `
Examples:
  millwright plant generate --assets 5000                        to the platform that npm start runs here
  millwright plant generate --assets 1000000 --relations 5 --fast
  millwright plant generate --url https://… --client-id … --secret-file -`,
    )
    .action(({ fast, ...options }: Options) => (fast ? grow(options) : send(options)))
}

function wholeNumber(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = Number(given)
    if (Number.isInteger(value) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`)
  }
}

async function grow({ tenant: name, ...size }: Options): Promise<void> {
  await asOwner(async (owner, parts) => {
    const tenant = await findTenant(owner, name)
    if (tenant === undefined)
      throw new StartError(`There is no tenant named ${name}: millwright tenants list shows them.`)
    const progress = progressOf(size.assets)
    await growPlant(size, { owner, tenantId: tenant.id, onProgress: progress.show })
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

async function send({ url, clientId, secretFile, ...size }: Options): Promise<void> {
  const access = await accessFrom({ url, clientId, secretFile })
  const transport = overHttp({ baseUrl: access.baseUrl, token: tokens(access) })
  const progress = progressOf(size.assets)
  await sendPlant(size, {
    inventory: client(inventory, transport),
    authorization: client(authorization, transport),
    onProgress: progress.show,
  })
  progress.end()
}

type Given = { url: string | undefined; clientId: string | undefined; secretFile: string | undefined }
type Sender = Pick<Access, 'baseUrl' | 'clientId' | 'clientSecret'>

/** A secret is never an argument: arguments are seen by everybody on the machine. */
async function accessFrom({ url, clientId, secretFile }: Given): Promise<Sender> {
  if (clientId !== undefined) {
    if (secretFile === undefined || url === undefined)
      throw new StartError('--client-id needs --url and --secret-file (- for standard input).')
    const secret = secretFile === '-' ? await text(process.stdin) : await readFile(secretFile, 'utf8')
    return { baseUrl: url, clientId, clientSecret: secret.trim() }
  }
  const file = join(readCloudConfiguration(process.env).home, 'first-run.json')
  const found = await readFile(file, 'utf8').catch(() => undefined)
  if (found === undefined)
    throw new StartError(`${file} is not there: give --url, --client-id and --secret-file, or write with --fast.`)
  const access: Access = JSON.parse(found)
  return { ...access, baseUrl: url ?? access.baseUrl }
}

/** One line that is written over, where somebody looks; where nobody does, only the end. */
function progressOf(assets: number) {
  const startedAt = performance.now()
  const line = (done: number) => {
    const rate = Math.round(done / ((performance.now() - startedAt) / 1000))
    return `${done} of ${assets} assets, ${rate} a second`
  }
  return {
    show(done: number): void {
      if (process.stderr.isTTY) process.stderr.write(`\r${line(done)}`)
    },
    end(): void {
      process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${line(assets)}\n`)
    },
  }
}
