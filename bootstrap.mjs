// Installs the dependencies if they differ from package-lock.json. Plain JavaScript for an older Node, without
// dependencies, because it runs before they are installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = path.dirname(fileURLToPath(import.meta.url))
const lockfile = path.join(root, 'package-lock.json')
const modules = path.join(root, 'node_modules')
const stamp = path.join(modules, '.millwright-stamp')
/** Not in node_modules: the installation empties that folder. */
const holderFile = path.join(root, '.install-lock')
const waitLimitMs = 15 * 60_000

if (!isInstalled()) await installOnce()

/** The stamp contains the platform, because a folder that was copied from another machine has the wrong binaries. */
function currentStamp() {
  const platform = `${process.platform}-${process.arch}`
  return `${platform} ${createHash('sha256').update(readFileSync(lockfile)).digest('hex')}\n`
}

function isInstalled() {
  return readText(stamp) === currentStamp() || isInstalledByHand()
}

/** `npm install` writes npm's own record instead of the stamp. Installing again would empty a folder that is in use. */
function isInstalledByHand() {
  const record = readText(path.join(modules, '.package-lock.json'))
  if (record === undefined) return false
  const { packages: lockedPackages } = JSON.parse(readFileSync(lockfile, 'utf8'))
  const { packages: installed } = JSON.parse(record)
  return Object.entries(lockedPackages).every(([folder, entry]) => {
    if (!folder.includes('node_modules/') || entry.link) return true
    const installedPackage = installed[folder]
    if (installedPackage === undefined) return entry.optional === true && !isForThisPlatform(entry)
    return installedPackage.version === entry.version && installedPackage.integrity === entry.integrity
  })
}

function isForThisPlatform({ os: systems, cpu: processors, libc }) {
  return libc === undefined && systems?.includes(process.platform) && processors?.includes(process.arch)
}

async function installOnce() {
  await takeLock()
  try {
    if (!isInstalled()) await install()
  } finally {
    rmSync(holderFile, { force: true })
  }
}

/** Waits while another process installs. */
async function takeLock() {
  const deadline = Date.now() + waitLimitMs
  let hasReported = false
  while (!tryLock()) {
    const holder = Number(readText(holderFile))
    if (holder > 0 && !isAlive(holder)) {
      removeLockOf(holder)
      continue
    }
    if (Date.now() > deadline)
      fail(`Process ${holder} has been installing for too long: end it and delete ${holderFile}.`)
    if (!hasReported) console.log(`Waiting for process ${holder}, which installs the dependencies…`)
    hasReported = true
    await delay(200)
  }
}

/** A hard link appears with its content, so no process reads a lock without its holder. */
function tryLock() {
  const own = `${holderFile}.${process.pid}`
  try {
    writeFileSync(own, `${process.pid}`)
    linkSync(own, holderFile)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    return fail(`Millwright cannot install its dependencies, because it cannot write to ${root}: ${error.message}.`)
  } finally {
    rmSync(own, { force: true })
  }
}

/** Another process may have taken the lock in between. Then the moved file does not belong to the ended process. */
function removeLockOf(holder) {
  const aside = `${holderFile}.${process.pid}.old`
  try {
    renameSync(holderFile, aside)
    if (Number(readText(aside)) !== holder) linkSync(aside, holderFile)
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

async function install() {
  console.log('Installing dependencies (first start; about a minute)…')
  rmSync(stamp, { force: true })
  const { code, output } = await runNpm([
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--include=dev',
    '--include=optional',
  ])
  if (code !== 0) {
    rmSync(holderFile, { force: true })
    process.stderr.write(output)
    fail(`The dependencies could not be installed: "npm ci" ended with exit code ${code}. Its output is above.`)
  }
  const fresh = `${stamp}.${process.pid}`
  writeFileSync(fresh, currentStamp())
  renameSync(fresh, stamp)
}

/**
 * Ctrl-C also reaches npm. This process waits for npm, so that the lock is removed only after the installation ended.
 */
function runNpm(npmArguments) {
  const [program, ...before] = npmCommand()
  return new Promise((resolve) => {
    const output = []
    const npm = spawn(program, [...before, ...npmArguments], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && before.length === 0,
    })
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => output.push(chunk))
    const finish = (code) => resolve({ code, output: Buffer.concat(output) })
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => npm.kill('SIGTERM'))
    npm.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`))
      finish(1)
    })
    npm.on('close', (code, signal) => finish(signal === null ? code : 128 + os.constants.signals[signal]))
  })
}

/** The npm that started this process, on its own Node, because the Node of node_modules is about to be deleted. */
function npmCommand() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const isNpm = cli !== undefined && /^npm(-cli)?\.[cm]?js$/.test(path.basename(cli))
  if (!isNpm || node === undefined || node.startsWith(modules)) return ['npm']
  return [node, cli]
}

/** A zombie process (state Z) still has its process id. */
function isAlive(pid) {
  if (/\) Z /.test(readText(`/proc/${pid}/stat`) ?? '')) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
