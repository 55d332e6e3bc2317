import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { nobody } from '@millwright/cloud/platform/postgres/testing.ts'
import { packGateway } from '@millwright/tools/package/gateway-archive.ts'
import { packPlatform } from '@millwright/tools/package/platform-archive.ts'
import { newMachine, paste, servicePrograms, startIn } from './gateway-machine.ts'
import { missingRights, NetworkNamespaces } from './network-namespaces.ts'
import { temporaryFolder, until } from './platform.ts'
import { root } from './program.ts'

/** The addresses of two machines in a network without any other machine. */
const network = { platform: '10.79.0.1', gateway: '10.79.0.2' }
const url = `https://${network.platform}:8080`
/** The system programs. No program of the archives uses the Node among them. */
const programs = '/usr/sbin:/usr/bin:/sbin:/bin'

test('two new machines with the archive of the platform only run a platform and a gateway with two commands', async (t) => {
  await using namespaces = await NetworkNamespaces.create()
  if (namespaces === undefined) return t.skip(missingRights)
  using folder = temporaryFolder('two-machines')
  await namespaces.connect([{ address: network.gateway, macAddress: '02:79:00:00:00:02' }], {
    gatewayAddress: `${network.platform}/24`,
  })
  const options = { root, output: join(folder.path, 'dist') }
  const { file } = await packPlatform({ ...options, gateway: await packGateway(options) })
  const archive = join(folder.path, 'archive')
  const target = join(folder.path, 'platform')
  for (const path of [archive, join(target, 'etc/millwright')]) mkdirSync(path, { recursive: true })
  execFileSync('tar', ['-xzf', file, '-C', archive, '--strip-components=1'])
  const home = join(target, 'var/lib/millwright/platform')
  mkdirSync(home, { recursive: true })
  execFileSync(join(archive, 'bin/millwright'), ['tls', 'create', '--host', network.platform], {
    env: { MILLWRIGHT_HOME: home },
  })
  execFileSync('chown', ['-R', `${nobody.uid}:${nobody.gid}`, home])
  const settings = {
    MILLWRIGHT_HOST: network.platform,
    MILLWRIGHT_BASE_URL: url,
    MILLWRIGHT_TLS_CERT: join(home, 'tls/server.pem'),
    MILLWRIGHT_TLS_KEY: join(home, 'tls/server-key.pem'),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(target, 'etc/millwright/platform.env'), lines.join(''))

  const onPlatform = (program: string, ...args: string[]) => {
    const command = ['netns', 'exec', namespaces.gateway, program, ...args]
    const { status, stdout, stderr } = spawnSync('ip', command, { encoding: 'utf8', env: { PATH: programs } })
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }
  const install = (...args: string[]) => onPlatform(join(archive, 'install.sh'), ...args, '--prefix', target)
  const millwright = (...args: string[]) => onPlatform(join(target, 'usr/local/bin/millwright-admin'), ...args)

  install('--no-systemd', '--user', 'nobody')
  try {
    const machine = newMachine(join(folder.path, 'machine'), { download: 'curl', others: servicePrograms })
    chownSync(machine.folder, nobody.uid, nobody.gid)
    const config = join(machine.folder, 'gateway-config.json')
    const onboarded = JSON.parse(millwright('gateway', 'onboard', 'Hall 9', '--out', config, '--url', url, '--json'))
    const start = startIn(namespaces, namespaces.devices)
    const run = paste(machine, `${onboarded.data.command} --service`, { start })
    const gateway = join(machine.program, 'opt/millwright/current')
    try {
      assert.equal(await run.ended, 0, run.output())
      const data = join(machine.program, 'var/lib/millwright/gateway')
      const enabling = start(join(gateway, 'bin/millwright'), ['gateway', 'links', 'enable', 'plant', '--home', data], {
        cwd: machine.folder,
        env: { PATH: machine.path },
        stdio: 'ignore',
      })
      assert.equal((await once(enabling, 'close'))[0], 0)
      const isLinked = () => /millwright\.links\.plant/.test(millwright('gateway', 'links', 'Hall 9', '--url', url))
      await until('the link is registered', isLinked)
      const scan = millwright('discover', '--gateway', 'Hall 9', '--option', 'size=20', '--url', url)
      assert.match(scan, /^20 devices: 20 new, /m)
      assert.equal(JSON.parse(millwright('gateway', 'show', 'Hall 9', '--url', url, '--json')).data.state, 'online')
      const { product } = JSON.parse(readFileSync(join(gateway, 'app/release.json'), 'utf8'))
      assert.equal(product, 'gateway')
    } finally {
      const stopping = start('sh', [join(gateway, 'install.sh'), 'stop'], { env: { PATH: machine.path } })
      await once(stopping, 'close')
    }
  } finally {
    install('uninstall')
  }
})
