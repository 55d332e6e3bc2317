import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './checks.ts'
import { changedFiles } from './package/build-time.ts'
import { packGateway } from './package/gateway-archive.ts'
import { packPlatform } from './package/platform-archive.ts'
import { signingKeyVariable } from './package/signature.ts'

/**
 * `npm run package` builds the archives for installations without a network: that of the gateway, and that of the platform,
 * which contains the first one. The build is reproducible: the same commit gives the same bytes. `--output` sets the folder, which is `dist` by default. `--from` names the folder of another
 * version, with installed dependencies. `MILLWRIGHT_SIGNING_KEY` names the file of the key for the signature.
 */
const { values } = parseArgs({
  options: { output: { type: 'string', default: resolve(root, 'dist') }, from: { type: 'string', default: root } },
})
const from = resolve(values.from)
const changed = changedFiles(from)
if (changed.length > 0)
  console.error(
    `The archive contains uncommitted changes. It cannot be built again from the commit:\n${changed.join('\n')}`,
  )

const signingKey = process.env[signingKeyVariable] || undefined
const options = { root: from, output: resolve(values.output), signingKey }
// Earlier versions do not serve the archive of the gateway.
const servesGateway = existsSync(resolve(from, 'cloud/downloads.ts'))
const gateway = servesGateway ? await packGateway(options) : undefined
const platform = await packPlatform({ ...options, gateway })
for (const packed of [gateway, platform]) if (packed !== undefined) console.log(`${packed.file}\n${packed.sha256}`)
