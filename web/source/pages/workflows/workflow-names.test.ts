import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workflowText } from './workflow-names.ts'

test('translates descriptions and states of built-in workflows to German', () => {
  const description = 'Transfers and activates new firmware'
  assert.equal(workflowText({ workflow: 'artefact-update', description }, 'en'), description)
  assert.match(workflowText({ workflow: 'artefact-update', description }, 'de') ?? '', /Firmware/)
  const canceled = { state: 'CANCELED', description: 'Canceled' }
  assert.equal(workflowText({ workflow: 'discovery', ...canceled }, 'de'), 'Abgebrochen')
  assert.equal(workflowText({ workflow: 'artefact-update', ...canceled }, 'de'), 'Vor der Aktivierung abgebrochen')
})

test('keeps the descriptions of a custom workflow in every language', () => {
  const custom = { workflow: 'my.workflow', state: 'FAILED', description: 'Out of paint' }
  assert.equal(workflowText(custom, 'de'), 'Out of paint')
})
