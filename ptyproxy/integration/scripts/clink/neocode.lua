-- Tells `neocode shell` what CMD itself cannot: the command line and its exit code. Clink loads this by CLINK_PATH.
-- Rules: elsewhere it does nothing; what the user types and Clink's own keys stay as they are; a Clink that is too old
-- for it leaves the marks in PROMPT to do what they can. The nonce goes out of PROMPT into this file's own memory.

local session = os.getenv("NEOCODE_SESSION_DIR") or ""
if session == "" or not clink or not clink.onbeginedit or not (clink.onfilterinput or clink.onendedit) then
    return
end

local ESC, BEL = "\27", "\7"
local PART = 110 -- characters of a command line in one mark: at most 200 bytes with what is round it
local MOST_PARTS = 100
-- the mark in PROMPT that ends a command; here it would come again whenever Clink draws the prompt anew
local END_MARK = "%$[eE]%]7781;neocode;D;[^%$]*%$[eE]\\"

local nonce
local asked, ran, told = false, false, nil

local function read_nonce()
    local file = io.open(session .. "\\nonce", "r")
    if file then
        nonce = file:read("*l")
        file:close()
        os.remove(session .. "\\nonce")
    end
    nonce = nonce or (os.getenv("PROMPT") or ""):match("neocode;D;nc=(%x+)")
    return nonce
end

if not read_nonce() then
    return
end

local function emit(text)
    if clink.print then
        clink.print(text, NONL)
    else
        io.write(text)
    end
end

local function mark(kind, fields)
    return ESC .. "]7781;neocode;" .. kind .. ";nc=" .. nonce .. fields .. BEL
end

-- A value of a mark: all but safe ASCII as %XX, without `%` and `;`. Clink's strings are UTF-8.
local function value_of(text)
    return (text:gsub("[^ -$&-:<-~]", function(char)
        return string.format("%%%02X", char:byte())
    end))
end

-- The marks that tell a command line.
local function command_marks(text)
    local value = value_of(text)
    if #value <= PART then
        return mark("C", ";cmd=" .. value)
    end
    local total = math.min(MOST_PARTS, math.ceil(#value / PART))
    local marks = {}
    for part = 1, total do
        local cut = (part == total and #value > total * PART) and ";cut=1" or ""
        local piece = value:sub((part - 1) * PART + 1, part * PART)
        marks[part] = mark("C", string.format(";part=%d/%d%s;cmd=%s", part, total, cut, piece))
    end
    return table.concat(marks)
end

-- The exit code, when Clink is set to fetch it.
local function exit_field()
    if asked then
        return ";exit=0"
    end
    if not os.geterrorlevel or (settings and settings.get and settings.get("cmd.get_errorlevel") == false) then
        return ""
    end
    return string.format(";exit=%d", os.geterrorlevel())
end

-- Who has the hotkey: `taken` by the proxy unless the user bound it (Ctrl+G is readline's abort otherwise).
local function facts()
    local hotkey = "taken"
    if rl and rl.getbinding then
        local bound = rl.getbinding([["\C-g"]])
        if bound and bound ~= "abort" and bound ~= "clink-reset-line" and bound ~= "" then
            hotkey = "user"
        end
    end
    local version = clink.version_encoded and (" with Clink " .. tostring(clink.version_encoded)) or " with Clink"
    return ";shell=cmd" .. version .. ";starts=marks;hooks=clink;widget=none;hotkey=" .. hotkey
end

local function quiet_prompt()
    local prompt = os.getenv("PROMPT")
    if prompt and os.setenv then
        local without = prompt:gsub(END_MARK, "")
        if without ~= prompt then
            os.setenv("PROMPT", without)
        end
    end
end

clink.onbeginedit(function()
    quiet_prompt()
    local fields = ran and exit_field() or ""
    local directory = os.getcwd and os.getcwd()
    if directory then
        fields = fields .. ";cwd=" .. value_of(directory)
    end
    local marks = mark("D", fields)
    local now = facts()
    if now ~= told then
        told = now
        marks = marks .. mark("D", now)
    end
    ran, asked = false, false
    emit(marks)
end)

-- `@ai why?` is for the proxy, as it was typed; CMD gets an empty line.
local function accepted(text)
    if type(text) ~= "string" or not text:find("%S") then
        return nil
    end
    ran = true
    emit(command_marks(text))
    if text:find("^%s*@ai%s") or text:find("^%s*@ai$") then
        asked = true
        return "", false
    end
    return nil
end

if clink.onfilterinput then
    clink.onfilterinput(accepted)
else
    clink.onendedit(accepted)
end
