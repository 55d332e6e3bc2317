import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { askRegistry, TestCloud } from '@millwright/gateway/testing.ts'
import { ownEnvironment, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'
import { memoryOf, spawnProgram } from './shop-floor.ts'
import { stop } from './worker-process.ts'

const links = 1_000
const registeringAtOnce = 50
const devices = 100_000
const goals = { restMebibytes: 150, scanMebibytes: 400 } as const
/** The pause before memory is measured. After a burst of work, the gateway releases memory within 15 seconds. */
const restMs = 30_000

/** Measures the memory of a gateway: with a thousand links, and while the gateway scans a large plant. */
export async function gateway(): Promise<Report> {
  return withHome(async (home) => {
    await using cloud = await TestCloud.start()
    // Drops old calls that the test cloud has recorded, so that they do not fill the memory of this process.
    cloud.answering = () => void cloud.calls.splice(0, Math.max(0, cloud.calls.length - 10))
    cloud.configure(home)
    const args = ['gateway', '--home', home, '--registry-port', '0', '--proxy-port', '0']
    const env = { ...ownEnvironment(join(home, 'cloud')), MILLWRIGHT_GATEWAY_LOG_LEVEL: 'error' }
    const program = spawnProgram({ file: 'cli/millwright.mjs', args, env, profile: undefined })
    try {
      const port = Number((await program.waitForOutput(/Registry\s+port (\d+)/))[1])
      const rows: Row[] = []
      const note = (moment: string) => {
        const { now, peak } = memoryOf(program.child.pid ?? 0)
        rows.push({ moment, 'MiB now': now, 'MiB at most': peak })
        return { now, peak }
      }
      await setTimeout(2_000)
      note('at the start')
      await registerMany(port)
      note(`${links.toLocaleString('en')} links have registered`)
      await setTimeout(restMs)
      const rest = note('after a while')
      const scanned = await scanLargePlant({ cloud, env, port, note })
      await setTimeout(restMs)
      note('a while later')
      return {
        title: `gateway: the memory of its process, with ${links.toLocaleString('en')} links and ${devices.toLocaleString('en')} devices`,
        rows,
        goals: [
          {
            goal: `less than ${goals.scanMebibytes} MiB while it scans ${devices.toLocaleString('en')} devices`,
            found: `${Math.round(scanned)} MiB`,
            reached: scanned < goals.scanMebibytes,
          },
          {
            goal: `less than ${goals.restMebibytes} MiB at rest with ${links.toLocaleString('en')} links`,
            found: `${Math.round(rest.now)} MiB`,
            reached: rest.now < goals.restMebibytes,
          },
        ],
      }
    } finally {
      await stop(program.child)
    }
  })
}

type Floor = {
  cloud: TestCloud
  env: NodeJS.ProcessEnv
  port: number
  note: (moment: string) => { now: number; peak: number }
}

/** Scans a large plant and returns the maximum memory of the gateway. */
async function scanLargePlant({ cloud, env, port, note }: Floor): Promise<number> {
  const args = ['link', 'run', 'plant', '--log-level', 'error', '--registry', `127.0.0.1:${port}`]
  const link = spawnProgram({ file: 'cli/millwright.mjs', args, env, profile: undefined })
  try {
    const query = askRegistry(port, 'millwright')
    const filter = { app_instance_ids: ['millwright.links.plant'] }
    while ((await query('QueryRegisteredServices', { filter })).infos.length === 0) await setTimeout(100)
    const options = { size: devices, seed: 1, protected_percent: 0 }
    const jobId = cloud.offer('discovery', {
      assetLinkId: 'millwright.links.plant',
      filters: [],
      options: Object.entries(options).map(([key, value]) => ({ key, value })),
    })
    let ending: { state: string; message?: string } | undefined
    while (ending === undefined) {
      await setTimeout(50)
      ending = cloud.endOf(jobId)
    }
    if (ending.state !== 'FINISHED') throw new Error(`The scan ended as ${ending.state}: ${ending.message}`)
    return note(`${devices.toLocaleString('en')} devices were found`).peak
  } finally {
    await stop(link.child)
  }
}

/** Registers each link over a separate connection. No link answers at its registered address. */
async function registerMany(port: number): Promise<void> {
  const ask = askRegistry(port, 'siemens')
  for (let done = 0; done < links; done += registeringAtOnce) {
    const some = Array.from({ length: registeringAtOnce }, (_, index) => ({
      app_instance_id: `cdm-device-class-driver-link-${done + index}`,
      ipv4_address: '127.0.0.1',
      grpc_ip_port_number: 1 + ((done + index) % 1_000),
      app_types: ['siemens.industrialassethub.discover.v1'],
      interfaces: ['siemens.connectivitysuite.drvinfo.v1', 'siemens.industrialassethub.discover.v1'],
      driver_schema_uris: [`link-${done + index}`],
    }))
    await Promise.all(some.map((info) => ask('RegisterService', { info })))
  }
}
