import { useText } from '../../app/language-context.tsx'
import { useSearchState } from '../../app/search.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Instances } from './instances.tsx'
import { credentialMessages } from './messages.ts'
import { Schemas } from './schemas.tsx'
import { Templates } from './templates.tsx'

const views = { instances: Instances, schemas: Schemas, templates: Templates }
type View = keyof typeof views
const names = Object.keys(views) as View[]

export function CredentialsPage() {
  const text = useText(credentialMessages)
  const [search, setSearch] = useSearchState<'view'>()
  usePageTitle(text.title)
  const view = names.find((name) => name === search.view) ?? 'instances'
  const Shown = views[view]
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <Tabs
        label={text.views}
        tabs={names.map((id) => ({ id, label: text[id] }))}
        chosen={view}
        onChoose={(chosen) => setSearch({ view: chosen })}
      >
        <Shown />
      </Tabs>
    </>
  )
}
