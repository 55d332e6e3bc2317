import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'

function assetNamed(name: string) {
  const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }]
  return { functional_object_type: 'Asset', name, asset_identifiers }
}

/** SQLSTATE codes that PostgreSQL returns when it temporarily cannot write. The same write succeeds later. */
const states = ['53100', '53200', '53000', '53300', '53400', '58030', '25006', '57P02', '55P03', '40001']

// A given database is used by other tests too, and a cluster has no triggers.
const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'the test adds triggers to its own database'

describe('inventory writes while the database cannot write', { skip }, () => {
  let hub: TestHub
  let operator: TestCaller

  before(async () => {
    hub = await testHub({ own: true })
    operator = await hub.as('operator')
    // The database itself raises the errors, in the same way as on a full disk.
    await hub.asOwner((owner) =>
      owner.query(`
        create table injected (place text primary key, code text not null);
        grant select on injected to public;
        create function raise_injected() returns trigger language plpgsql as $$
          declare found_code text := (select code from injected where place = tg_table_name || ' ' || tg_op);
          begin
            if found_code is not null then raise exception 'injected' using errcode = found_code; end if;
            return null;
          end $$;
        create trigger injected before insert or update on assets for each statement execute function raise_injected();
        create trigger injected before insert or update on operations for each statement execute function raise_injected();
        create trigger injected before update on events for each statement execute function raise_injected()`),
    )
  })
  after(() => hub[Symbol.asyncDispose]())

  /**
   * Replaces the injected error in one statement, so that the background applier never finds a working database in between.
   */
  const inject = (place: string, code: string) =>
    hub.asOwner((owner) =>
      owner.query(
        `with others as (delete from injected where place <> $1)
         insert into injected values ($1, $2) on conflict (place) do update set code = $2`,
        [place, code],
      ),
    )
  const recover = () => hub.asOwner((owner) => owner.query('delete from injected'))
  const create = (name: string) => operator.inventory.createAsset({ body: { data: { asset: assetNamed(name) } } })
  const stateOf = async (id: string) => (await operator.inventory.readStatus({ params: { id }, query: {} })).data.state
  /** Runs the applier now, without its pause between attempts. */
  const apply = () => {
    const inAnHour = new Date(Date.now() + 3_600_000)
    return hub.contextOf('inventory').tasks.runDue(hub.tenant.tenantId, { at: inAnHour })
  }
  const ready = () => hub.request({ method: 'GET', path: '/readyz' })
  const untilFinished = async (ids: readonly string[]) => {
    for (const id of ids) {
      let state = 'queued'
      while (state === 'queued')
        state = (await operator.inventory.readStatus({ params: { id }, query: { wait: 30 } })).data.state
      assert.equal(state, 'finished')
    }
  }

  test(
    'keeps accepted writes queued while the database cannot write, and applies them afterwards',
    onlyInLongRuns,
    async () => {
      const accepted: string[] = []
      for (const [index, code] of states.entries()) {
        // The error occurs either where the assets are written or where the outcome is stored.
        await inject(index % 2 === 0 ? 'assets INSERT' : 'operations UPDATE', code)
        accepted.push((await create(`asset-${index}`)).data.statusId)
        await apply()
        for (const id of accepted) assert.equal(await stateOf(id), 'queued', `with ${code}`)
      }
      await inject('assets INSERT', '53100')
      await apply()
      const refused = await ready()
      assert.deepEqual(
        [refused.status, refused.body],
        [503, { status: 'not ready', reason: 'The database is out of disk space' }],
      )
      await recover()
      await untilFinished(accepted)
      while ((await ready()).status !== 200);
      const { data } = await operator.inventory.listAssets({ query: { filter: "startswith(name,'asset-')" } })
      assert.equal(data.length, states.length, 'each write is applied once')
    },
  )

  test('returns 503 with Retry-After and a stable code for new writes while the database cannot write', async () => {
    for (const code of ['53100', '53200', '53400', '58030', '25006', '57P03']) {
      await inject('operations INSERT', code)
      const answer = await hub.request({
        method: 'POST',
        path: '/inventory/v2/assets',
        headers: { authorization: `Bearer ${operator.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ data: { asset: assetNamed('refused') } }),
      })
      assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [503, 'unavailable'], code)
      assert.ok(Number(answer.headers.get('retry-after')) > 0)
      assert.doesNotMatch(answer.text, /injected|53100/)
    }
    await recover()
    await untilFinished([(await create('accepted-again')).data.statusId])
  })

  test('publishes pending events after the database can write again', async () => {
    await inject('events UPDATE', '53100')
    const admin = await hub.as('administrator')
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall 1' } } })
    await apply()
    await recover()
    await hub.settle()
    const isPublished = async () => {
      const { rows } = await hub.asOwner((owner) =>
        owner.query('select from events where tenant_id = $1 and subject = $2 and position is not null', [
          hub.tenant.tenantId,
          `access-group/${group.id}`,
        ]),
      )
      return rows.length === 1
    }
    while (!(await isPublished())) await hub.settle()
  })

  test('reports a clear error for a write without an access group when the tenant has no default group', async () => {
    const tenant = await hub.anotherTenant('without-default')
    const caller = await hub.as('administrator', { tenant })
    const rename = (from: string, to: string) =>
      hub.asOwner((owner) =>
        owner.query('update access_groups set name = $3 where tenant_id = $1 and name = $2', [
          tenant.tenantId,
          from,
          to,
        ]),
      )
    const write = () => caller.inventory.createAsset({ body: { data: { asset: assetNamed('x') } } })
    await rename('default', 'missing')
    await assert.rejects(write(), { code: 'access_group_not_found', status: 422 })
    await rename('missing', 'default')
    assert.ok((await write()).data.statusId, 'the missing group is not remembered')
  })
})
