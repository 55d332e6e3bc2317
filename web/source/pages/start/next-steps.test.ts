import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NextStep, nextSteps } from './next-steps.ts'

function step(id: string, tone?: NextStep['tone']): NextStep {
  return { id, icon: '', title: id, detail: '', to: '/', ...(tone !== undefined && { tone }) }
}

const idsOf = (steps: readonly NextStep[]) => steps.map(({ id }) => id).join(' ')

test('shows the urgent steps by urgency, and hides the recommendations', () => {
  const { shown, hidden, areRecommendations } = nextSteps([
    step('monitor'),
    step('approvals', 'info'),
    step('stopped', 'critical'),
    step('scan', 'warning'),
    step('discover'),
    step('offline', 'bad'),
  ])
  assert.equal(idsOf(shown), 'offline stopped scan approvals')
  assert.equal(idsOf(hidden), 'monitor discover')
  assert.equal(areRecommendations, true)
})

test('shows the recommendations of a plant without faults', () => {
  const { shown, hidden } = nextSteps([step('review'), step('discover')])
  assert.equal(idsOf(shown), 'review discover')
  assert.equal(idsOf(hidden), '')
})

test('shows at most six steps at once', () => {
  const faults = ['1', '2', '3', '4', '5', '6', '7'].map((id) => step(id, 'bad'))
  const { shown, hidden, areRecommendations } = nextSteps([step('discover'), ...faults])
  assert.equal(idsOf(shown), '1 2 3 4 5 6')
  assert.equal(idsOf(hidden), '7 discover')
  assert.equal(areRecommendations, false)
})
