import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldersOf, parentOf, pathIn } from './remote-path.ts'

test('joins a folder and a name', () => {
  assert.equal(pathIn('/', 'etc'), '/etc')
  assert.equal(pathIn('/home/plc', 'a file'), '/home/plc/a file')
  assert.equal(pathIn('.', 'log'), './log')
})

test('the parent of a folder is its container, and the root has no parent', () => {
  assert.equal(parentOf('/home/plc'), '/home')
  assert.equal(parentOf('/home/'), '/')
  assert.equal(parentOf('/'), undefined)
  assert.equal(parentOf('C:'), undefined)
})

test('lists the folders of a path from the root', () => {
  assert.deepEqual(foldersOf('/home/plc'), [
    { name: '/', path: '/' },
    { name: 'home', path: '/home' },
    { name: 'plc', path: '/home/plc' },
  ])
  assert.deepEqual(foldersOf('C:/data'), [
    { name: 'C:', path: 'C:' },
    { name: 'data', path: 'C:/data' },
  ])
})
