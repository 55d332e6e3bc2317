// Installs the dependencies if they differ from package-lock.json. This file has no dependencies, because it runs
// before they are installed. It is plain JavaScript, so that an older Node can run it too.
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
/** The lock file is not in node_modules, because the installation empties that folder. */
const holderFile = path.join(root, '.install-lock')
const waitLimitMs = 15 * 60_000

if (!isInstalled()) await installOnce()

/**
 * Returns the expected stamp. It contains the platform, because a folder that was copied from another machine has the
 * wrong binaries.
 */
function currentStamp() {
  const platform = `${process.platform}-${process.arch}`
  return `${platform} ${createHash('sha256').update(readFileSync(lockfile)).digest('hex')}\n`
}

function isInstalled() {
  return readText(stamp) === currentStamp() || isInstalledByHand()
}

/**
 * Returns true if the user has installed the dependencies with `npm install`, which writes npm's own record instead of
 * the stamp. Installing again would empty a folder that is in use.
 */
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

/** Takes the lock. Waits while another process holds the lock and installs the dependencies. */
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
      fail(`Process ${holder} has been installing for too long: end this process and delete ${holderFile}.`)
    if (!hasReported) console.log(`Waiting for process ${holder}, which installs the dependencies…`)
    hasReported = true
    await delay(200)
  }
}

/**
 * Creates the lock file as a hard link to a complete file, so that no process reads a lock file without the id of its
 * holder.
 */
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

/**
 * Removes the lock of a process that has ended. If another process has taken the lock in the meantime, its lock file is
 * restored.
 */
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
 * Runs npm. Ctrl-C also reaches npm, and this process still waits for npm, so that the lock is removed only after the
 * installation has ended.
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

/**
 * Returns the command for the npm that started this process, with the Node that runs npm. The Node in node_modules is
 * not used, because the installation deletes it.
 */
function npmCommand() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const isNpm = cli !== undefined && /^npm(-cli)?\.[cm]?js$/.test(path.basename(cli))
  if (!isNpm || node === undefined || node.startsWith(modules)) return ['npm']
  return [node, cli]
}

/** Returns true while the process is running. A zombie process (state Z) has ended, but still has its process id. */
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
