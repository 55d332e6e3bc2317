import { useText } from '../../app/language-context.tsx'
import { useSearchState } from '../../app/search.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Grants } from './grants.tsx'
import { Groups } from './groups.tsx'
import { accessMessages } from './messages.ts'
import { People } from './people.tsx'
import { Programs } from './programs.tsx'
import { Roles } from './roles.tsx'
import { Why } from './why.tsx'

const views = { people: People, programs: Programs, roles: Roles, groups: Groups, grants: Grants, why: Why }
type View = keyof typeof views
const names = Object.keys(views) as View[]

/** Who may do what. */
export function AccessPage() {
  const text = useText(accessMessages)
  const [search, setSearch] = useSearchState<'view'>()
  usePageTitle(text.title)
  const view = names.find((name) => name === search.view) ?? 'people'
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
